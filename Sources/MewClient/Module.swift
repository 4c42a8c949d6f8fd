// The client core for applications: no sockets, no Linux.
