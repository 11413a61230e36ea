"""What all pages share: their layout, addresses, forms and routes."""
