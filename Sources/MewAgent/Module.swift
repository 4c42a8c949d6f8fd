// Agent back ends. The shell agent is the embedded one.
