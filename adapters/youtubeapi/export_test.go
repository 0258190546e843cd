package youtubeapi

// NewAt makes a Client, NewOwnerAt an Owner, of another server than Google's.
var (
	NewAt      = newAt
	NewOwnerAt = newOwnerAt
)
