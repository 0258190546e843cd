// Package launchertest is the conformance suite of supervisor.Launcher.
//
//	func TestLauncher(t *testing.T) {
//		launchertest.Run(t, func(t *testing.T) launchertest.Harness { … })
//	}
//
// The stream URL tells a worker how to behave: the worker of a harness passes it to
// BehaviourOf. Harness.Alive reports which
// workers really run; the suite never trusts the launcher for that.
//
// Every launcher runs Run. Launchers whose workers survive the gateway also run
// RunAdoption.
package launchertest
