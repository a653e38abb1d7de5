"""The workers as people see and drain them."""
