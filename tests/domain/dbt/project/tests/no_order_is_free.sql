select * from {{ ref('orders', v=2) }} where total = 0
