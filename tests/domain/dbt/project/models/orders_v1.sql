select id, customer, total, status from {{ ref('orders', v=2) }}
