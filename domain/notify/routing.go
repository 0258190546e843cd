package notify

// Routing holds everything that decides who is told what. It is shared: nobody changes it.
type Routing struct {
	Version      int64 // another one, another routing
	Destinations map[string]Destination
	Routes       []Route   // in their order
	Silences     []Silence // that have not ended
}
