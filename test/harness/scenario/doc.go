// Package scenario plays what happens to a stream, and asserts on what its receiver is sent.
// The suites run the same scenarios in every environment of the product: acceptance with
// workers that are processes or goroutines, compose in containers, cluster in pods.
//
//	env := scenario.Env{Env: …, Workers: …}
//	env.PlayMain(t)                       // late, black, silent, ended
//	env.PlayDetectors(t)                  // frozen, one-sided, …: what optional detectors find
//	env.PlayLadders(t)                    // single qualities that fail, stand still, are black or gone
//	env.Survive(t, scenario.Disruption{}) // something breaks while the picture is black
//	s := env.Watch(t, scenario.Video{})   // a timeline of the suite's own
package scenario
