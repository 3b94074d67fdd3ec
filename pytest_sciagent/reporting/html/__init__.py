"""The HTML report: one page that works offline, or an index and a page for each run."""
