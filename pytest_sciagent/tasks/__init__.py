"""Tasks on disk and where they are looked up."""

from __future__ import annotations

from .task import Task, find_task, task_folders, unfinished_tasks

__all__ = ["Task", "find_task", "task_folders", "unfinished_tasks"]
