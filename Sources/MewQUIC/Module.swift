// The endpoint and its connections as actors on one loop.
