package client

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"time"

	"crypto/sha256"
)

// Image is an image of the pool.
type Image struct {
	Name   string     `json:"name"`   // registry/repository:tag; with @digest where no host has a tag for it
	Digest string     `json:"digest"` // "sha256:..."
	Size   int64      `json:"size"`   // of its blobs in bytes, for one platform
	Hosts  []string   `json:"hosts"`  // ids of the hosts that have it
	Kept   *KeptImage `json:"kept,omitempty"`
}

// KeptImage says that the pool keeps an image: hosts have it, and do not remove it.
type KeptImage struct {
	Imported bool      `json:"imported"`         // from an archive: in this pool its name means its digest
	On       string    `json:"on,omitempty"`     // expression of the cluster query language that selects the hosts
	Copies   int       `json:"copies,omitempty"` // on how many hosts, where no expression selects them
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"` // ARN
}

// Pin is an image that the pool is to keep.
type Pin struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	On     string `json:"on,omitempty"`     // expression of the cluster query language; empty: any hosts
	Copies int    `json:"copies,omitempty"` // how many hosts, without On; 0: 3
}

// PinnedImage is an image that the pool keeps from now on.
type PinnedImage struct {
	Image
	Keepers []string `json:"keepers"` // ids of the hosts that are to have it now
}

// Transfer is how far a host is with a pull or a push.
type Transfer struct {
	Image  string `json:"image"`
	To     string `json:"to,omitempty"`
	Done   int64  `json:"done"`  // bytes
	Total  int64  `json:"total"` // bytes in all, 0 while unknown
	Ended  bool   `json:"ended"`
	Digest string `json:"digest,omitempty"` // of one that has ended well
	Error  string `json:"error,omitempty"`  // why it failed
	Note   string `json:"note,omitempty"`
}

// Images lists the images of the pool by name, as Image or as another type that has their JSON.
func Images[T any](ctx context.Context, c *Client) (all []T, err error) {
	return all, c.Get(ctx, "/v1/images", nil, &all)
}

// HostsWhere lists the hosts that an expression of the cluster query language selects; empty: all.
func HostsWhere(ctx context.Context, c *Client, expression string) (all []Host, err error) {
	query := url.Values{}
	if expression != "" {
		query.Set("filter", expression)
	}
	return all, c.Get(ctx, "/v1/hosts", query, &all)
}

// PinImage has hosts keep an image, UnpinImage ends that.
func PinImage(ctx context.Context, c *Client, p Pin) (pinned PinnedImage, err error) {
	return pinned, c.Call(ctx, "admin/images/pin", p, &pinned)
}

// UnpinImage ends that the pool keeps an image; one that was imported has no meaning any more.
func UnpinImage(ctx context.Context, c *Client, name string) error {
	return c.Call(ctx, "admin/images/unpin", Pin{Name: name}, nil)
}

// PullImage has a host pull an image; ImageTransfer tells how far it is.
func PullImage(ctx context.Context, c *Client, host, name string) (t Transfer, err error) {
	return t, c.Call(ctx, onHost(host, "pull", url.Values{"name": {name}}), struct{}{}, &t)
}

// PushImage has a host push an image to a registry; ImageTransfer tells how far it is.
func PushImage(ctx context.Context, c *Client, host, name, digest, to string) (t Transfer, err error) {
	return t, c.Call(ctx, onHost(host, "push", url.Values{"name": {name}, "digest": {digest}, "to": {to}}), struct{}{}, &t)
}

// ImageTransfer is how far a host is with a pull or, with to, a push.
func ImageTransfer(ctx context.Context, c *Client, host, name, to string) (t Transfer, err error) {
	query := url.Values{"name": {name}}
	if to != "" {
		query.Set("to", to)
	}
	return t, c.Get(ctx, "/v1/"+onHost(host, "transfer", nil), query, &t)
}

// RemoveImage removes an image from a host.
func RemoveImage(ctx context.Context, c *Client, host, digest string) error {
	return c.Call(ctx, onHost(host, "remove", url.Values{"digest": {digest}}), struct{}{}, nil)
}

// PruneImages removes the images from a host that nothing needs there, and returns them; with dryRun it removes none.
func PruneImages(ctx context.Context, c *Client, host string, dryRun bool) (removed []Image, err error) {
	query := url.Values{}
	if dryRun {
		query.Set("dry-run", "true")
	}
	return removed, c.Call(ctx, onHost(host, "prune", query), struct{}{}, &removed)
}

func onHost(host, what string, query url.Values) string {
	path := "admin/hosts/" + url.PathEscape(host) + "/images/" + what
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// ExportImage writes an image that a host has as an archive.
func ExportImage(ctx context.Context, c *Client, host, name, digest string, to io.Writer) error {
	response, err := c.transport.get(ctx, "/v1/"+onHost(host, "export", nil), url.Values{"name": {name}, "digest": {digest}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(to, response.Body); err != nil {
		return fmt.Errorf("the archive was cut off: %w", err)
	}
	return nil
}

// ImportImages has the pool keep the images of an archive, of which it reads size bytes twice: what is sent is signed. sent is told how many
// bytes have gone. name, if it is not empty, is for the one image of the archive; on is as Pin's.
func ImportImages(ctx context.Context, c *Client, archive io.ReadSeeker, size int64, name, on string, sent func(n int)) (imported []PinnedImage, err error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, archive); err != nil {
		return nil, err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	query := url.Values{}
	for key, value := range map[string]string{"name": name, "on": on} {
		if value != "" {
			query.Set(key, value)
		}
	}
	response, err := c.transport.upload(ctx, "/v1/admin/images/import?"+query.Encode(), &countedReader{archive, sent}, size, sum)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer was cut off: %w. The images may have been imported: see `pinion image ls`", err)
	}
	return imported, decode("the import", body, &imported)
}

type countedReader struct {
	io.Reader
	read func(n int)
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read(n)
	return n, err
}

// upload sends a body of any size once, with the sum of it.
func (t *transport) upload(ctx context.Context, path string, body io.Reader, size int64, sum hash.Hash) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	request.ContentLength = size
	request.Header.Set("User-Agent", "pinion")
	if t.config.KeyID != "" && !t.unknown.Load() {
		hash := hex.EncodeToString(sum.Sum(nil))
		request.Header.Set("X-Amz-Content-Sha256", hash)
		if err := t.signSum(ctx, request, hash, time.Now()); err != nil {
			return nil, err
		}
	}
	return t.answerOf(request)
}
