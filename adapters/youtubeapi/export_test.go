package youtubeapi

// NewAt makes a Client of another server than Google's.
var NewAt = newAt
