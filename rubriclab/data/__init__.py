"""Files that others wrote, read within bounds: answers, rubrics, judgments; and files written
safely.
"""
