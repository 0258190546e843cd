package subprocess

// ScratchIn lets the tests choose where the directory is made.
var ScratchIn = scratchIn
