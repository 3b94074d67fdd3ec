"""Rubrics induced before an agent starts: from a task's words, its data and the literature, in checked stages."""
