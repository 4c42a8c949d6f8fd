// The SQLite store, an actor on its own blocking loop.
