"""What a job of a continuous integration service does with sessions: GitHub Actions first."""
