"""The frame that all pages share: layout, addresses, forms and routes."""
