// Package launchertest is what every supervisor.Launcher has to pass, whatever it
// launches: processes, pods, goroutines.
//
//	func TestLauncher(t *testing.T) {
//		launchertest.Run(t, func(t *testing.T) launchertest.Harness { … })
//	}
//
// The suite tells a worker how to behave by the video it is to watch: a worker
// in a harness asks BehaviourOf its stream URL and acts accordingly. What
// really runs it learns from Harness.Alive, never from the launcher.
//
// Run is for every launcher. RunOutlived is for those whose workers go on when
// the gateway is gone: pods and processes, not goroutines.
package launchertest
