"""What only the book needs: the bridge to its widgets, its figures and its exercises."""
