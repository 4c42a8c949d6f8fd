// What several test targets share: fixtures, scripted agents, links in memory.
