-- A made-up shop: 40 tables in three schemas, with comments, keys, partitions, views and routines.
CREATE SCHEMA sales;
CREATE SCHEMA stock;
CREATE SCHEMA "Old Stuff";
COMMENT ON SCHEMA sales IS 'What customers order.';

CREATE TABLE sales.customers (
    id bigserial PRIMARY KEY,
    email varchar(120) NOT NULL UNIQUE,
    name text,
    address jsonb,
    tags text[],
    score numeric(6, 2),
    born date,
    created_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE sales.customers IS 'People who ordered at least once.';
COMMENT ON COLUMN sales.customers.email IS 'Where invoices go.';

CREATE TABLE stock.products (
    sku char(12) PRIMARY KEY,
    title varchar(200) NOT NULL,
    price numeric(10, 2) CHECK (price >= 0),
    weight real,
    picture bytea,
    discontinued boolean DEFAULT false
);
COMMENT ON TABLE stock.products IS 'All that can be ordered.';

CREATE TABLE sales.orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES sales.customers (id),
    status varchar(10) NOT NULL,
    note text,
    ordered_at timestamp NOT NULL
);
COMMENT ON TABLE sales.orders IS 'One row for each order.';
COMMENT ON COLUMN sales.orders.status IS 'open, paid or sent';

CREATE TABLE sales.order_lines (
    order_id bigint REFERENCES sales.orders (id),
    line smallint,
    sku char(12) NOT NULL REFERENCES stock.products (sku),
    quantity integer NOT NULL,
    price numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);

CREATE TABLE stock.movements (
    id uuid NOT NULL,
    sku char(12) NOT NULL,
    quantity integer,
    moved_at timestamp NOT NULL
) PARTITION BY RANGE (moved_at);
CREATE TABLE stock.movements_2025 PARTITION OF stock.movements
    FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
CREATE TABLE stock.movements_2026 PARTITION OF stock.movements
    FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
COMMENT ON TABLE stock.movements IS 'What came in and went out.';

CREATE TABLE "Old Stuff"."Order.Lines" ("Line No" integer PRIMARY KEY, "a ""quoted"" one" text);
CREATE TABLE "Old Stuff"."Preise in €" (betrag money, "gültig ab" date);

-- The tables of 33 shelves, each with a key into the one before.
DO $$
BEGIN
    FOR n IN 1..33 LOOP
        EXECUTE format(
            'CREATE TABLE stock.shelf_%s (id integer PRIMARY KEY, before integer %s, label varchar(%s))',
            n, CASE WHEN n > 1 THEN format('REFERENCES stock.shelf_%s (id)', n - 1) ELSE '' END, 10 + n
        );
        EXECUTE format('COMMENT ON TABLE stock.shelf_%s IS %L', n, 'What lies on shelf ' || n || '.');
        EXECUTE format('COMMENT ON COLUMN stock.shelf_%s.label IS %L', n, 'What the label says.');
    END LOOP;
END $$;

CREATE VIEW sales.open_orders AS
    SELECT o.id, c.email, o.ordered_at
    FROM sales.orders o JOIN sales.customers c ON c.id = o.customer_id
    WHERE o.status = 'open';
COMMENT ON VIEW sales.open_orders IS 'Orders that are neither paid nor sent.';
CREATE MATERIALIZED VIEW sales.revenue AS
    SELECT date_trunc('day', o.ordered_at) AS day, sum(l.price * l.quantity) AS amount
    FROM sales.orders o JOIN sales.order_lines l ON l.order_id = o.id
    GROUP BY 1;

CREATE PROCEDURE sales.close_orders(before timestamp) LANGUAGE sql AS $$
    UPDATE sales.orders SET status = 'sent' WHERE ordered_at < before
$$;
CREATE FUNCTION stock.on_hand(product char(12)) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(quantity) FROM stock.movements WHERE sku = product
$$;

INSERT INTO sales.customers (email, name, address, tags, score, born)
    SELECT format('someone%s@example.com', n), 'Someone ' || n, '{"city": "Here"}', '{new}', n, '1990-01-01'
    FROM generate_series(1, 20) n;
INSERT INTO stock.products (sku, title, price) SELECT 'P' || n, 'Thing ' || n, n FROM generate_series(1, 10) n;
INSERT INTO sales.orders (customer_id, status, ordered_at)
    SELECT 1 + n % 20, CASE WHEN n % 3 = 0 THEN 'open' ELSE 'paid' END, timestamp '2026-01-01' + n * interval '1 hour'
    FROM generate_series(1, 50) n;
INSERT INTO sales.order_lines SELECT n, 1, 'P' || (1 + n % 10), n, n FROM generate_series(1, 50) n;
-- The profiler takes the number of rows from what this finds.
ANALYZE;
