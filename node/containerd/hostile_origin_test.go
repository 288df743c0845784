package containerd_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// origin is a registry with one small image, as documents and blobs that a fault may change before it is served, and a handler that a
// fault may put itself in front of.
type origin struct {
	random    *rand.Rand
	self      string // host:port
	elsewhere string // host:port of an honest server that has the same blobs under any path
	victim    string // host:port of a registry that this host has credentials for; whoever gets them has stolen them

	layerTar []byte
	layer    []byte // compressed
	config   map[string]any
	manifest map[string]any
	layerDoc map[string]any // the layer's descriptor in manifest

	blobs     map[string][]byte // by digest
	documents map[string]document
}

type document struct {
	mediaType string
	content   []byte
}

// newOrigin makes an image that is like no other: what a pull of it leaves behind can be told.
func newOrigin(random *rand.Rand) *origin {
	o := &origin{random: random, blobs: map[string][]byte{}, documents: map[string]document{}}
	noise := make([]byte, 3000+random.IntN(3000))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	o.layerTar = archive(tar.Header{Name: "data", Mode: 0o644}, noise)
	o.layer = gzipped(o.layerTar)
	o.config = map[string]any{
		"os": "linux", "architecture": goruntime.GOARCH, "config": map[string]any{"Cmd": []string{"/data"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{digest.FromBytes(o.layerTar).String()}},
	}
	o.layerDoc = o.descriptor(ocispec.MediaTypeImageLayerGzip, o.layer)
	o.manifest = map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest,
		"config": o.descriptor(ocispec.MediaTypeImageConfig, raw(o.config)), "layers": []any{o.layerDoc},
	}
	o.serveManifest(o.manifest)
	return o
}

func archive(header tar.Header, content []byte) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header.Size = int64(len(content))
	if err := w.WriteHeader(&header); err != nil {
		panic(err)
	}
	w.Write(content)
	w.Close()
	return out.Bytes()
}

func gzipped(content []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(content)
	w.Close()
	return out.Bytes()
}

func raw(v any) []byte {
	content, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return content
}

// descriptor stores a blob and describes it.
func (o *origin) descriptor(mediaType string, content []byte) map[string]any {
	d := digest.FromBytes(content).String()
	o.blobs[d] = content
	return map[string]any{"mediaType": mediaType, "digest": d, "size": len(content)}
}

// put stores a manifest or an index under its digest and describes it.
func (o *origin) put(mediaType string, content []byte) map[string]any {
	d := o.descriptor(mediaType, content)
	o.documents[d["digest"].(string)] = document{mediaType, content}
	return d
}

// serve makes a document what the tag names.
func (o *origin) serve(mediaType string, content []byte) {
	o.put(mediaType, content)
	o.documents["1"] = document{mediaType, content}
}

func (o *origin) serveManifest(m map[string]any) { o.serve(ocispec.MediaTypeImageManifest, raw(m)) }

// serveConfig makes the image have that configuration.
func (o *origin) serveConfig(content []byte) {
	o.manifest["config"] = o.descriptor(ocispec.MediaTypeImageConfig, content)
	o.serveManifest(o.manifest)
}

// serveLayer makes the image have that layer, which unpacks to content.
func (o *origin) serveLayer(mediaType string, compressed, content []byte) {
	o.config["rootfs"] = map[string]any{"type": "layers", "diff_ids": []any{digest.FromBytes(content).String()}}
	o.layerDoc = o.descriptor(mediaType, compressed)
	o.manifest["layers"] = []any{o.layerDoc}
	o.serveConfig(raw(o.config))
}

// index describes an index of these manifests, which the tag then names.
func (o *origin) serveIndex(manifests []any) map[string]any {
	content := raw(map[string]any{"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageIndex, "manifests": manifests})
	o.serve(ocispec.MediaTypeImageIndex, content)
	return o.put(ocispec.MediaTypeImageIndex, content)
}

func (o *origin) platformed(architecture string) map[string]any {
	d := o.put(ocispec.MediaTypeImageManifest, raw(o.manifest))
	d["platform"] = map[string]any{"os": "linux", "architecture": architecture}
	return d
}

// ServeHTTP is an honest registry for what there is. Any repository has the image.
func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, name, isManifest := strings.Cut(r.URL.Path, "/manifests/")
	_, blob, isBlob := strings.Cut(r.URL.Path, "/blobs/")
	switch {
	case isManifest && o.documents[name].content != nil:
		d := o.documents[name]
		w.Header().Set("Content-Type", d.mediaType)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(d.content).String())
		w.Header().Set("Content-Length", fmt.Sprint(len(d.content)))
		if r.Method != http.MethodHead {
			w.Write(d.content)
		}
	case isBlob && o.blobs[blob] != nil:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(o.blobs[blob]))
	default:
		http.NotFound(w, r)
	}
}

// diffIDs are the layers that the configuration names.
func (o *origin) diffIDs() map[string]bool {
	all := map[string]bool{}
	rootfs, _ := o.config["rootfs"].(map[string]any)
	ids, _ := rootfs["diff_ids"].([]any)
	for _, id := range ids {
		if text, ok := id.(string); ok && digest.Digest(text).Validate() == nil {
			all[text] = true
		}
	}
	return all
}
