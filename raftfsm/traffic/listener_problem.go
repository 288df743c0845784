package traffic

// ListenerProblem is a listener that the proxy of a host does not serve. The proxy tries it again until it does.
type ListenerProblem struct {
	Listener string `json:"listener"` // its ID
	Port     int    `json:"port"`
	Problem  string `json:"problem"` // what is wrong, and what to do
}
