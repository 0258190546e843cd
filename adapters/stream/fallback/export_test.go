package fallback

// PlacesFor computes the places of a host with so many cores and bytes of memory.
var PlacesFor = places

// Memory reads the memory of a host from its proc and sys.
var Memory = memory
