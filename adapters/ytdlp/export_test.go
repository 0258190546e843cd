package ytdlp

// Read lets the tests read a run's output without the run.
var Read = read
