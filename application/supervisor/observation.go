package supervisor

// observation is what one comparison knows of an active monitor and its worker.
type observation struct {
	generation   int  // the monitor's newest
	running      int  // the generation that runs in this gateway's runtime; 0: none
	blind        bool // the launcher cannot list workers, so running is not known
	owned        bool // this gateway already looks after the newest generation
	launchedHere bool // the newest generation was launched in this gateway's runtime
	shared       bool // other gateways launch workers there, too
	leader       bool // this gateway is the leader (decision O5)
	reported     bool // the newest generation has reported
	absentBefore bool // the last comparison did not find it running, either
	leaseExpired bool // it has not reported in time (decision O3)
}

// verdict is what an observation amounts to.
type verdict int

const (
	nothingToDo verdict = iota // the worker runs, or another gateway decides, or it is too early
	adopt                      // the worker runs and no gateway looks after it
	missing                    // the worker does not run
	silent                     // the worker may run, but does not report
)

// evaluate decides whether a worker is lost. There are two signs. It does not run
// in its runtime: without other gateways there, that counts at once; with others,
// at the second comparison, because one of them may just be launching it. Or its
// lease has expired: every gateway sees that, and the leader acts. A worker that
// this gateway launched or adopted is never missing, because its exit is reported.
func evaluate(o observation) verdict {
	runs := o.running == o.generation
	ownRuntime := o.launchedHere && !o.shared
	switch {
	case o.blind && o.leaseExpired && o.leader:
		return silent
	case o.blind:
		return nothingToDo
	case ownRuntime && !runs && !o.owned:
		return missing
	case o.launchedHere && o.shared && o.leader && !runs && !o.owned && (o.reported && o.absentBefore || o.leaseExpired):
		return missing
	case o.leaseExpired && o.leader:
		return silent
	case runs && !o.owned && (ownRuntime || o.leader):
		return adopt
	}
	return nothingToDo
}
