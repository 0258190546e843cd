// Package quality tests how well the detectors detect. It plays
// the clips of the corpus (package corpus) to the watcher of production on
// virtual time. The segment-decoder and the ffmpeg of production decode them. The tests
// compare the alerts with the truth of each clip, and those of black and silence with those that
// follow from ffmpeg alone.
//
//	corpus.Clip ──▶ playlist, segments ──▶ watch.Watcher ──▶ alerts ──▶ judge
//	  truth ────────────────────────────────────────────────────────────┘
//
// Each clip is played with a check every 1, 5 and 10 s, and each of these from four starting
// points. The thresholds are corpus.Threshold for black and silence. The loudness is the default of
// a registration.
//
// Further clips (corpus.Further) have the thresholds and the check interval of a registration, and two
// starting points. They are played with the defaults and with the values of each preset, for as long as its threshold
// needs. Those that are missed or invented are listed beside them, each with the reason. The test fails if
// the list is not exact.
//
// Ladders (corpus.Ladders) are streams of several qualities, for the detector of bad ones. The reader of production
// fetches them from a server, with the defaults of a registration, once with program times and once without. Their list of
// what is known is exact, too.
//
// Packagings (livestream.Packagings) are the same program in HLS and DASH of many kinds. The readers of production fetch each
// from a server, and its events must be those of the others.
//
// "make test" plays a sample of the corpus, "make quality" all of it, and "make quality-random"
// clips with random events in random encodings. Random clips have no truth, and a sample is not
// compared with ffmpeg.
package quality
