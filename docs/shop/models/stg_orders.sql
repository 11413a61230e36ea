select id as order_id, customer_id, amount_cents / 100 as total, ordered_at
from {{ ref('raw_orders') }}
