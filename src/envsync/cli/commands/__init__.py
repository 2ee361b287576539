"""What each command does, once its words are read. Imported only when it is called."""
