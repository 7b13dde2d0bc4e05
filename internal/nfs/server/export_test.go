package server

// PortmapAddrs returns the addresses of Options.Portmap as they were bound.
func (s *Server) PortmapAddrs() []string {
	var a []string
	for _, l := range s.listeners[len(s.opt.Listen):] {
		a = append(a, l.Addr().String())
	}
	return a
}

// ChangeWriteVerifier does what a restart does to clients. Nothing is lost really.
func (s *Server) ChangeWriteVerifier() { s.verifier.Add(1) }
