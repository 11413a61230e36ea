select ordered_at as day, sum(total) as revenue
from {{ ref('orders') }}
group by ordered_at
