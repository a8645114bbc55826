"""What the widgets' fixtures hold, a module a chapter; ``tools/widget_fixtures.py`` writes them."""
