"""From data to what a person or a program reads. Nothing here decides anything."""
