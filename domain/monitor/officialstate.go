package monitor

import "time"

// OfficialStateLife is how long after its question an OfficialState says something of the present (decision S23).
const OfficialStateLife = 90 * time.Second

// OfficialState is what the official API of a stream's source says of the stream (decision S23). The gateway asks
// for it, and hands it to the worker in the answers to its reports.
type OfficialState struct {
	Status  StreamStatus `json:"status"`   // StreamUnknown: the API does not know the stream, or tells no state of it
	AskedAt time.Time    `json:"asked_at"` // by the clock of the store; names this answer
	AgeSec  float64      `json:"age_sec"`  // from AskedAt until the gateway answered the report
}

// Age returns how old the state was when the gateway answered.
func (o OfficialState) Age() time.Duration { return time.Duration(o.AgeSec * float64(time.Second)) }
