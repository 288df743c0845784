package spec

// PoolInfo is what every host knows of its pool besides its own assignments.
type PoolInfo struct {
	Pool        string   `json:"pool"`
	Incarnation int      `json:"incarnation"`
	Leader      string   `json:"leader,omitempty"`    // address; empty while there is none
	Servers     []string `json:"servers"`             // addresses of all servers that vote, sorted
	ServerIDs   []string `json:"serverIds"`           // ids of all servers, and of hosts that are to become one, sorted
	Signature   []byte   `json:"signature,omitempty"` // of the pool's CA, over Pool, Incarnation and ServerIDs
	Hosts       []string `json:"hosts,omitempty"`     // addresses of some other hosts, which know where servers are when these do not
	Removed     []string `json:"removed,omitempty"`   // ids of hosts whose certificates may still look good

	LogRetention map[string]int `json:"logRetention,omitempty"` // days that hosts keep the logs of these log groups
	// DeletedLogs says of which log groups hosts remove what was written before a moment, in milliseconds since 1970.
	DeletedLogs map[string]int64 `json:"deletedLogs,omitempty"`
}
