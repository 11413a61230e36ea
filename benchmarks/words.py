"""Material of the generated catalog: the subjects of a trading company, and sentences."""

from typing import NamedTuple


class Field(NamedTuple):
    """A column: its name, type and description."""

    name: str
    type: str
    description: str


class Subject(NamedTuple):
    """Something that a company keeps rows about."""

    plural: str
    singular: str
    fields: tuple[Field, ...]


class Area(NamedTuple):
    """A part of the business: a schema of tables, a team, a data product."""

    name: str
    title: str
    subjects: tuple[Subject, ...]


def _fields(text: str) -> tuple[Field, ...]:
    """Fields written as `name type description`, one a line."""
    lines = [line.split(None, 2) for line in text.strip().splitlines()]
    return tuple(Field(name, kind, description) for name, kind, description in lines)


def _subject(plural: str, singular: str, text: str) -> Subject:
    return Subject(plural, singular, _fields(text))


# fmt: off
AREAS = (
    Area("sales", "Sales", (
        _subject("orders", "order", """
            order_number VARCHAR Number that the customer sees on the confirmation.
            placed_at TIMESTAMP When the customer confirmed the order.
            order_status VARCHAR One of placed, paid, shipped, returned or cancelled.
            gross_amount DECIMAL Value of all lines before discounts, tax included.
            discount_amount DECIMAL Discounts granted on the whole order.
            channel VARCHAR Where the order came from: web, app, store or phone.
        """),
        _subject("order_lines", "order line", """
            line_number INT Position of the line within its order.
            quantity INT Units ordered.
            unit_price DECIMAL Price of one unit at the time of the order.
            net_amount DECIMAL Value of the line without tax.
        """),
        _subject("quotes", "quote", """
            valid_until DATE Last day on which the quoted prices hold.
            quoted_amount DECIMAL Total of the quote without tax.
            sales_stage VARCHAR How far the deal has come.
        """),
        _subject("returns", "return", """
            return_reason VARCHAR What the customer gave as the reason.
            returned_at TIMESTAMP When the parcel was scanned at the return desk.
            refund_amount DECIMAL Money paid back to the customer.
        """),
        _subject("discounts", "discount", """
            discount_code VARCHAR Code that the customer enters at checkout.
            percent_off DECIMAL Reduction in percent of the list price.
            starts_on DATE First day on which the discount is accepted.
        """),
    )),
    Area("customers", "Customers", (
        _subject("customers", "customer", """
            first_name VARCHAR Given name as entered by the customer.
            last_name VARCHAR Family name as entered by the customer.
            email VARCHAR Address that receipts and newsletters are sent to.
            phone_number VARCHAR Number for questions about a delivery, with country code.
            birth_date DATE Date of birth, when the customer told us.
            customer_since DATE Day of the first order.
        """),
        _subject("addresses", "address", """
            street VARCHAR Street and house number.
            city VARCHAR Name of the town.
            postal_code VARCHAR Postal code in the format of the country.
            is_billing BOOLEAN Whether invoices go to this address.
        """),
        _subject("segments", "segment", """
            segment_name VARCHAR Name of the segment as marketing uses it.
            rule_text TEXT Condition that puts a customer into the segment.
            member_count INT Customers in the segment at the last run.
        """),
        _subject("consents", "consent", """
            purpose VARCHAR What the customer agreed to, such as newsletters or profiling.
            granted_at TIMESTAMP When consent was given.
            revoked_at TIMESTAMP When consent was taken back, empty while it holds.
        """),
        _subject("loyalty_accounts", "loyalty account", """
            points_balance INT Points that can be spent today.
            tier VARCHAR Bronze, silver or gold.
            expires_on DATE Day on which the oldest points lapse.
        """),
    )),
    Area("finance", "Finance", (
        _subject("invoices", "invoice", """
            invoice_number VARCHAR Number printed on the invoice, without gaps per country.
            issued_on DATE Date of the invoice.
            due_on DATE Day by which the invoice must be paid.
            net_amount DECIMAL Amount without tax.
            tax_amount DECIMAL Value added tax on the invoice.
            dunning_level INT Reminders sent so far.
        """),
        _subject("payments", "payment", """
            paid_at TIMESTAMP When the bank confirmed the payment.
            method VARCHAR Card, transfer, wallet or cash on delivery.
            amount DECIMAL Money received, before fees.
            fee_amount DECIMAL Fee kept by the payment provider.
        """),
        _subject("ledger_entries", "ledger entry", """
            account_number VARCHAR Account in the chart of accounts.
            booked_on DATE Date of the booking.
            debit_amount DECIMAL Amount on the debit side.
            credit_amount DECIMAL Amount on the credit side.
        """),
        _subject("budgets", "budget", """
            cost_center VARCHAR Unit that spends the budget.
            fiscal_year INT Year that the budget is for.
            planned_amount DECIMAL Amount agreed at the start of the year.
        """),
        _subject("exchange_rates", "exchange rate", """
            base_currency CHAR Currency that is converted from.
            quote_currency CHAR Currency that is converted to.
            rate DOUBLE Units of the quote currency for one unit of the base currency.
        """),
    )),
    Area("inventory", "Inventory", (
        _subject("products", "product", """
            sku VARCHAR Stock keeping unit, unique over all shops.
            title VARCHAR Name of the product in the shop.
            brand VARCHAR Brand under which the product is sold.
            category_path VARCHAR Categories from the broadest to the narrowest.
            list_price DECIMAL Price before any discount.
            weight_grams INT Weight with packaging.
        """),
        _subject("stock_levels", "stock level", """
            on_hand INT Units on the shelf at the last count.
            reserved INT Units promised to open orders.
            reorder_point INT Level at which new stock is ordered.
        """),
        _subject("warehouses", "warehouse", """
            site_code VARCHAR Code of the site in all logistics systems.
            opened_on DATE Day on which the site opened.
            capacity_pallets INT Pallet places in the building.
        """),
        _subject("suppliers", "supplier", """
            legal_name VARCHAR Name of the company as registered.
            lead_time_days INT Days from purchase order to delivery, as agreed.
            quality_score DOUBLE Share of deliveries without complaint.
        """),
        _subject("purchase_orders", "purchase order", """
            ordered_on DATE Date of the purchase order.
            expected_on DATE Delivery date confirmed by the supplier.
            total_cost DECIMAL Cost of all lines without tax.
        """),
    )),
    Area("shipping", "Shipping", (
        _subject("shipments", "shipment", """
            tracking_number VARCHAR Number under which the carrier tracks the parcel.
            shipped_at TIMESTAMP When the parcel left the warehouse.
            delivered_at TIMESTAMP When the carrier reported delivery.
            carrier_code VARCHAR Carrier that took the parcel.
            freight_cost DECIMAL What the carrier charges for it.
        """),
        _subject("carriers", "carrier", """
            carrier_name VARCHAR Name of the carrier.
            contract_ends_on DATE Last day of the current contract.
            on_time_share DOUBLE Share of parcels delivered on the promised day.
        """),
        _subject("routes", "route", """
            origin_site VARCHAR Site where the route starts.
            destination_region VARCHAR Region that the route serves.
            distance_km DOUBLE Length of the route by road.
        """),
        _subject("deliveries", "delivery", """
            attempt_number INT Delivery attempts so far.
            signed_by VARCHAR Who signed for the parcel.
            proof_url VARCHAR Where the photo of the delivery is kept.
        """),
    )),
    Area("marketing", "Marketing", (
        _subject("campaigns", "campaign", """
            campaign_name VARCHAR Name agreed with the agency.
            budget_amount DECIMAL Money set aside for the campaign.
            starts_on DATE First day of the campaign.
            ends_on DATE Last day of the campaign.
        """),
        _subject("web_sessions", "web session", """
            started_at TIMESTAMP First page view of the session.
            landing_page VARCHAR Path of the first page.
            referrer VARCHAR Site that the visitor came from.
            page_views INT Pages seen during the session.
        """),
        _subject("email_sends", "email send", """
            template_name VARCHAR Template of the message.
            sent_at TIMESTAMP When the message was handed to the provider.
            opened BOOLEAN Whether the message was opened at least once.
        """),
        _subject("ad_clicks", "ad click", """
            ad_network VARCHAR Network that showed the advertisement.
            clicked_at TIMESTAMP Time of the click.
            cost_micros BIGINT Cost of the click in millionths of the currency.
        """),
        _subject("leads", "lead", """
            lead_source VARCHAR How the lead found us.
            score INT Likelihood of a first order, from 0 to 100.
            qualified_at TIMESTAMP When sales accepted the lead.
        """),
    )),
    Area("people", "People", (
        _subject("employees", "employee", """
            employee_number VARCHAR Number in the payroll system.
            job_title VARCHAR Title in the employment contract.
            hired_on DATE First day of employment.
            left_on DATE Last day of employment, empty for current staff.
        """),
        _subject("departments", "department", """
            department_name VARCHAR Name in the organisation chart.
            head_count INT Employees at the end of the month.
            cost_center VARCHAR Cost center that pays for the department.
        """),
        _subject("absences", "absence", """
            absence_kind VARCHAR Holiday, sickness, parental leave or training.
            first_day DATE First day away.
            days_away DECIMAL Working days away, halves included.
        """),
        _subject("applicants", "applicant", """
            applied_at TIMESTAMP When the application came in.
            stage VARCHAR How far the application has come.
            source_board VARCHAR Job board that the applicant used.
        """),
    )),
    Area("support", "Support", (
        _subject("tickets", "ticket", """
            subject_line VARCHAR First line of the request.
            opened_at TIMESTAMP When the customer wrote or called.
            resolved_at TIMESTAMP When the customer accepted the answer.
            priority VARCHAR Low, normal, high or urgent.
            first_reply_minutes INT Minutes until a person answered.
        """),
        _subject("agents", "agent", """
            shift_name VARCHAR Shift on which the agent works.
            language_codes VARCHAR Languages that the agent answers in.
            open_tickets INT Tickets assigned to the agent now.
        """),
        _subject("surveys", "survey", """
            asked_at TIMESTAMP When the survey was sent.
            rating INT Answer on a scale from 1 to 5.
            comment_text TEXT What the customer added in their own words.
        """),
        _subject("calls", "call", """
            queue_name VARCHAR Queue in which the caller waited.
            waited_seconds INT Time until an agent picked up.
            talked_seconds INT Length of the conversation.
        """),
    )),
    Area("fraud", "Fraud prevention", (
        _subject("risk_checks", "risk check", """
            risk_score DOUBLE Probability of a chargeback, from 0 to 1.
            decision VARCHAR Accept, review or reject.
            model_version VARCHAR Version of the model that scored the order.
        """),
        _subject("chargebacks", "chargeback", """
            reason_code VARCHAR Reason given by the card network.
            disputed_amount DECIMAL Amount in dispute.
            won BOOLEAN Whether the dispute was decided for us.
        """),
        _subject("device_fingerprints", "device fingerprint", """
            device_hash VARCHAR Hash over the properties of the device.
            first_seen_at TIMESTAMP First session with this device.
            account_count INT Accounts that used the device.
        """),
        _subject("blocklists", "blocklist entry", """
            blocked_value VARCHAR Card, address or device that is blocked.
            blocked_by VARCHAR Who put it on the list.
            blocked_until DATE Day on which the block ends.
        """),
    )),
    Area("stores", "Stores", (
        _subject("stores", "store", """
            store_code VARCHAR Three letters of the town and a number.
            opened_on DATE Day of the opening.
            sales_area_sqm INT Sales floor in square metres.
        """),
        _subject("receipts", "receipt", """
            receipt_number VARCHAR Number printed on the receipt.
            rung_at TIMESTAMP When the till closed the sale.
            item_count INT Items on the receipt.
            total_amount DECIMAL Amount paid, tax included.
        """),
        _subject("registers", "register", """
            register_number INT Number of the till within its store.
            software_version VARCHAR Version running on the till.
            last_audit_on DATE Day of the last cash audit.
        """),
        _subject("footfall", "footfall count", """
            counted_at TIMESTAMP Start of the quarter of an hour.
            entries INT People who came in.
            exits INT People who went out.
        """),
    )),
)

# fmt: on

COMMON = _fields("""
    created_at TIMESTAMP When the row was written first.
    updated_at TIMESTAMP When the row was changed last.
    source_system VARCHAR System that the row was read from.
    country_code CHAR Country as two letters of ISO 3166.
    currency_code CHAR Currency as three letters of ISO 4217.
    is_deleted BOOLEAN Whether the source has deleted the row since.
    load_date DATE Day on which the row was loaded; tables are partitioned by it.
    batch_id VARCHAR Run of the pipeline that wrote the row.
    language_code CHAR Language as two letters of ISO 639.
    region VARCHAR Sales region at the time of the event.
    valid_from TIMESTAMP Start of the period for which the row holds.
    valid_to TIMESTAMP End of the period, empty for the current row.
    notes TEXT Free text entered by staff.
    external_reference VARCHAR Identifier used by the partner.
    attributes JSON Further properties that have no column of their own.
    row_hash VARCHAR Hash over all business columns, to find changes.
    is_test BOOLEAN Whether the row was made by a test and must not be reported.
    time_zone VARCHAR Name of the time zone in the tz database.
""")

MEASURES = (
    ("revenue", "DECIMAL", "Revenue"),
    ("margin", "DECIMAL", "Contribution margin"),
    ("units", "INT", "Units sold"),
    ("visits", "INT", "Visits"),
    ("conversion", "DOUBLE", "Share of visits that ended in an order"),
    ("refunds", "DECIMAL", "Refunds paid"),
    ("cost", "DECIMAL", "Cost booked"),
    ("complaints", "INT", "Complaints received"),
    ("baskets", "INT", "Baskets opened"),
    ("delay", "DOUBLE", "Average delay in hours"),
    ("balance", "DECIMAL", "Open balance"),
    ("contacts", "INT", "Contacts with support"),
)
WINDOWS = (
    ("1d", "over the last day"),
    ("7d", "over the last seven days"),
    ("28d", "over the last four weeks"),
    ("90d", "over the last quarter"),
    ("365d", "over the last year"),
    ("mtd", "in the month to date"),
    ("ytd", "in the year to date"),
    ("lifetime", "since the first record"),
)
CUTS = (
    ("", ""),
    ("_web", ", online only"),
    ("_app", ", in the app only"),
    ("_store", ", in stores only"),
    ("_new", ", new customers only"),
    ("_returning", ", returning customers only"),
    ("_emea", ", Europe, Middle East and Africa only"),
    ("_amer", ", the Americas only"),
    ("_apac", ", Asia and Pacific only"),
    ("_b2b", ", business customers only"),
)

FORMS = (
    ("{}", "One row per {}, as the business knows it."),
    ("dim_{}", "Dimension with one row per {}, as of today."),
    ("fact_{}", "Facts with one row per {}, never changed after loading."),
    ("stg_{}", "Staging copy with one row per {}, cleaned but not joined."),
    ("raw_{}", "Raw extract with one row per {}, exactly as delivered."),
    ("{}_daily", "Daily totals of every {}, by day and country."),
    ("{}_monthly", "Monthly totals of every {}, closed on the third working day."),
    ("{}_history", "Every version of every {}, with the period for which it held."),
    ("{}_snapshot", "State of every {} at midnight, one row per day."),
    ("{}_current", "Latest state of each {}."),
    ("{}_quality", "Results of the checks on each {}."),
)

SYSTEMS = (
    "the shop",
    "the order service",
    "the ERP system",
    "the CRM system",
    "the point of sale",
    "the payment provider",
    "the warehouse system",
    "the carrier feeds",
    "the web tracker",
    "the payroll system",
    "the call center",
    "the marketing platform",
    "the partner portal",
    "the returns desk",
    "the mobile app",
    "the planning tool",
)
CADENCES = (
    "every night",
    "every hour",
    "every fifteen minutes",
    "once a week",
    "as events arrive",
    "on the first of the month",
    "twice a day",
    "after the books are closed",
)
PURPOSES = (
    "the weekly business review",
    "revenue reporting",
    "demand forecasts",
    "churn analysis",
    "the board report",
    "pricing decisions",
    "stock planning",
    "customer service",
    "campaign attribution",
    "the annual audit",
    "fraud detection",
    "delivery promises",
    "capacity planning",
    "the monthly close",
    "recommendations",
    "regulatory filings",
    "experiment readouts",
    "supplier negotiations",
)
CARES = (
    "Test rows are filtered out before loading.",
    "Times are in UTC unless the column says otherwise.",
    "Amounts are in the currency of the row and must not be added up across countries.",
    "Late rows may arrive for up to three days.",
    "Rows are deleted on request of the customer within thirty days.",
    "The dataset is complete from 2019 on; earlier years are sampled.",
    "Personal data is masked for everybody outside the owning team.",
    "Do not join on names: they are not unique.",
    "Numbers before the migration were restated and differ from older reports.",
    "This dataset replaces the spreadsheet that the team kept by hand.",
    "The dataset is checked every morning, and the owner is called when a check fails.",
    "Counts are approximate above one million.",
)
ADJECTIVES = (
    "amber",
    "arctic",
    "bold",
    "brass",
    "bright",
    "calm",
    "cedar",
    "clear",
    "cobalt",
    "copper",
    "coral",
    "crimson",
    "deep",
    "early",
    "emerald",
    "fair",
    "fern",
    "flint",
    "golden",
    "granite",
    "green",
    "harbor",
    "hazel",
    "indigo",
    "iron",
    "ivory",
    "jade",
    "keen",
    "lemon",
    "lilac",
    "lunar",
    "maple",
    "marble",
    "mellow",
    "misty",
    "navy",
    "noble",
    "north",
    "olive",
    "onyx",
    "opal",
    "orchid",
    "pearl",
    "pine",
    "plain",
    "polar",
    "quartz",
    "quick",
    "rapid",
    "red",
    "river",
    "rose",
    "ruby",
    "rustic",
    "sage",
    "sandy",
    "scarlet",
    "silent",
    "silver",
    "slate",
    "solar",
    "south",
    "steel",
    "stone",
    "summer",
    "swift",
    "teal",
    "topaz",
    "velvet",
    "violet",
    "warm",
    "west",
    "white",
    "wild",
    "willow",
    "winter",
)
NOUNS = (
    "anchor",
    "arrow",
    "badger",
    "beacon",
    "bear",
    "birch",
    "bridge",
    "brook",
    "canyon",
    "castle",
    "cliff",
    "comet",
    "compass",
    "condor",
    "crane",
    "creek",
    "delta",
    "dune",
    "eagle",
    "falcon",
    "field",
    "finch",
    "forest",
    "fox",
    "garden",
    "gate",
    "glacier",
    "harvest",
    "hawk",
    "heron",
    "hill",
    "horizon",
    "island",
    "jaguar",
    "lake",
    "lantern",
    "lark",
    "lighthouse",
    "lion",
    "lynx",
    "meadow",
    "mill",
    "moon",
    "mountain",
    "oak",
    "ocean",
    "orca",
    "otter",
    "owl",
    "panther",
    "peak",
    "pebble",
    "phoenix",
    "pilot",
    "planet",
    "prairie",
    "puma",
    "rain",
    "raven",
    "reef",
    "ridge",
    "robin",
    "rocket",
    "sail",
    "salmon",
    "shore",
    "sparrow",
    "spring",
    "star",
    "storm",
    "summit",
    "swan",
    "tiger",
    "trail",
    "valley",
    "wave",
    "whale",
    "wolf",
)
FIRST_NAMES = (
    "Maria",
    "James",
    "Aisha",
    "Lukas",
    "Mei",
    "Carlos",
    "Ingrid",
    "Kofi",
    "Priya",
    "Tomas",
    "Yuki",
    "Amelie",
    "Omar",
    "Sofia",
    "Henrik",
    "Nadia",
    "David",
    "Leila",
    "Mateo",
    "Greta",
    "Samuel",
    "Hana",
    "Viktor",
    "Chiara",
    "Daniel",
    "Zanele",
    "Pavel",
    "Emma",
    "Rafael",
    "Linh",
)
LAST_NAMES = (
    "Lopez",
    "Smith",
    "Khan",
    "Weber",
    "Chen",
    "Garcia",
    "Larsen",
    "Mensah",
    "Sharma",
    "Novak",
    "Tanaka",
    "Dubois",
    "Haddad",
    "Rossi",
    "Berg",
    "Ivanova",
    "Cohen",
    "Rahimi",
    "Silva",
    "Keller",
    "Okafor",
    "Sato",
    "Horvat",
    "Moretti",
    "Miller",
    "Dlamini",
    "Svoboda",
    "Jensen",
    "Costa",
    "Nguyen",
)
UNITS = (
    "retail",
    "wholesale",
    "outlet",
    "marketplace",
    "grocery",
    "fashion",
    "electronics",
    "garden",
    "travel",
    "pharmacy",
)
DATABASES = (
    "analytics",
    "operations",
    "reporting",
    "planning",
    "partners",
    "archive",
    "sandbox",
    "exports",
)
SERVICES = {
    "databaseService": ("Snowflake", "BigQuery", "Postgres", "Redshift", "Databricks"),
    "messagingService": ("Kafka", "Redpanda", "PubSub"),
    "dashboardService": ("Superset", "Looker", "Tableau", "Metabase"),
    "pipelineService": ("Airflow", "Dagster", "Prefect", "DBTCloud"),
    "mlmodelService": ("Mlflow", "SageMaker"),
    "storageService": ("S3", "GCS", "ADLS"),
    "searchService": ("ElasticSearch", "OpenSearch"),
    "apiService": ("Rest",),
}
VOCABULARIES = (
    (
        "Tier",
        "How much the business depends on an asset.",
        (
            ("Tier1", "Critical: the business stops without it."),
            ("Tier2", "Important: a report or a process depends on it."),
            ("Tier3", "Useful within one team."),
            ("Tier4", "Experimental, may disappear."),
        ),
    ),
    (
        "PersonalData",
        "Whether data says something about a person.",
        (
            ("Personal", "Identifies a person alone or with other data."),
            ("Sensitive", "Needs a legal reason to be read at all."),
            ("None", "Says nothing about any person."),
        ),
    ),
    (
        "Certification",
        "How far an asset can be trusted.",
        (
            ("Gold", "Checked daily and covered by a contract."),
            ("Silver", "Checked, without guarantees."),
        ),
    ),
)
TERMS = (
    ("revenue", "Money received for goods and services, without tax and after discounts."),
    ("active_customer", "A customer with at least one order in the last twelve months."),
    ("churn", "Loss of a customer who has been active before."),
    ("basket", "What a visitor has chosen but not yet ordered."),
    ("gross_margin", "Revenue less the cost of the goods sold, in percent of revenue."),
    ("lead_time", "Days between an order to a supplier and its delivery."),
    ("fill_rate", "Share of ordered units delivered from stock."),
    ("chargeback", "A card payment that the bank of the customer takes back."),
)
TERMS_OF_USE = (
    "Free to use inside the company; ask the owner before showing numbers outside.",
    "Only for the purposes named here; copies must be deleted after ninety days.",
    "Read access on request, granted by the owning team within two working days.",
)
