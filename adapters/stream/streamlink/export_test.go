package streamlink

// Read lets the tests read a run's output without the run.
var Read = read
