package supervisor

import "time"

// facts are what one comparison knows about an active monitor and its worker, or about a worker
// without an active monitor.
type facts struct {
	unneeded    bool          // the worker has no active monitor
	unneededFor time.Duration // since a comparison first found it so

	busy              bool // this gateway has a task for its worker, which decides
	newestGeneration  int  // the monitor's newest
	runningGeneration int  // the generation that this gateway's launcher lists; 0: none
	listUnavailable   bool // the launcher cannot list workers, so runningGeneration is not known
	refused           bool // this gateway refuses the requests of the worker that is listed (decision O9)
	ownedByGateway    bool // this gateway launches, promotes or has adopted the newest generation
	inOwnRuntime      bool // the newest generation was launched in this gateway's runtime
	sharedRuntime     bool // other gateways launch workers in this runtime, too
	leader            bool // this gateway is the leader (decision O5)
	reported          bool // the newest generation has reported
	unlistedBefore    bool // the launcher did not list the newest generation at the last comparison
	leaseExpired      bool // it has not reported in time (decision O3)
	takesOver         bool // its gateway has died, and this gateway takes over the monitor (decision O5)
	gatewayBeats      bool // the gateway of its private runtime sends heartbeats
}

// verdict is the conclusion from the facts.
type verdict int

const (
	nothingToDo verdict = iota // the worker runs, or another gateway decides, or it is too early
	adopt                      // the worker runs, and this gateway must watch for its exit
	missing                    // the worker does not run; the gateway handles the loss
	silent                     // the worker has not reported in time; the gateway handles the loss
	abandoned                  // the worker has ended with its gateway; this gateway handles the loss
	refused                    // the worker runs, but cannot report; this gateway replaces it
	outdated                   // a worker of an older generation runs here, the newest one elsewhere; this gateway ends it
	unneeded                   // a worker runs whose monitor has ended, is a reservation or does not exist; this gateway ends it
)

// evaluate decides whether a worker is lost, or not needed. One that this gateway owns gets
// orphanGracePeriod to end by itself when its monitor has ended. A loss has four signs:
//
//   - The worker does not run in its runtime. In a private runtime, one comparison is
//     enough. In a shared runtime, two are needed, because another gateway may be
//     launching the worker. A worker that this gateway owns is never missing, because
//     the launcher reports its exit.
//   - The worker's gateway has died, and its workers end with it. Of the gateways that
//     see this, the monitor's successor acts. The leader acts when the lease of a worker has
//     expired whose gateway nobody has seen alive: it died while the database was away.
//   - The worker has a token that this gateway refuses. In a shared runtime the leader acts:
//     while INTERNAL_API_KEY is changed, other gateways may still accept it.
//   - The worker's lease has expired. Every gateway sees this, and the leader acts.
func evaluate(f facts) verdict {
	runs := f.runningGeneration == f.newestGeneration
	inPrivateRuntime := f.inOwnRuntime && !f.sharedRuntime
	inOtherGateway := !f.inOwnRuntime && !f.sharedRuntime // gateways on hosts are not mixed with those in a cluster
	switch {
	case f.busy:
		return nothingToDo
	case f.unneeded && f.ownedByGateway && f.unneededFor < orphanGracePeriod:
		return nothingToDo
	case f.unneeded:
		return unneeded
	case f.takesOver, inOtherGateway && !f.gatewayBeats && f.leaseExpired && f.leader:
		return abandoned
	case f.listUnavailable && f.leaseExpired && f.leader:
		return silent
	case f.listUnavailable:
		return nothingToDo
	case inPrivateRuntime && !runs && !f.ownedByGateway:
		return missing
	case f.inOwnRuntime && f.sharedRuntime && f.leader && !runs && !f.ownedByGateway && (f.reported && f.unlistedBefore || f.leaseExpired):
		return missing
	case runs && f.refused && (inPrivateRuntime || f.leader):
		return refused
	case f.leaseExpired && f.leader:
		return silent
	case runs && !f.ownedByGateway && (inPrivateRuntime || f.leader):
		return adopt
	case f.runningGeneration > 0 && f.runningGeneration < f.newestGeneration && !f.inOwnRuntime:
		return outdated
	}
	return nothingToDo
}
