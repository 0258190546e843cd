package monitor

import "time"

// IngestState says whether data arrive from the encoder of a live stream (decision S24). The gateway asks the source with the login of the
// stream's owner, and hands it to the worker in the answers to its reports.
type IngestState struct {
	NoData  bool      `json:"no_data"`  // the broadcast is live, and the encoder sends nothing
	AskedAt time.Time `json:"asked_at"` // by the clock of the store; names this answer
	AgeSec  float64   `json:"age_sec"`  // from AskedAt until the gateway answered the report
}

// Age returns how old the state was when the gateway answered.
func (s IngestState) Age() time.Duration { return time.Duration(s.AgeSec * float64(time.Second)) }
