package types

// Paging are the members that every List operation reads.
type Paging struct {
	MaxResults *int   `json:"maxResults"`
	NextToken  string `json:"nextToken"`
}
