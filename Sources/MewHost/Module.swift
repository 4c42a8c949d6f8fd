// The machine's side: confined files and directories.
