package probe

// Lose takes the port from a server that has not been closed.
func (s *Server) Lose() error { return s.listener.Close() }
