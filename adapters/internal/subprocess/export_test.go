package subprocess

// ScratchIn lets the tests choose where the directory is made.
var ScratchIn = scratchIn

// ForgetScratch makes the next tool look for its directory again.
func ForgetScratch() {
	lastScratch.Lock()
	defer lastScratch.Unlock()
	lastScratch.dir = ""
}

// PID returns the number of a process.
func PID(p *Process) int { return p.cmd.Process.Pid }
