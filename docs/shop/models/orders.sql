select order_id, customer_id, total, ordered_at
from {{ ref('stg_orders') }}
