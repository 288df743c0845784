// Package envfile is ECS's environmentFiles: files in buckets of a host whose lines are environment variables of containers.
package envfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pinion/raftfsm/lazyregexp"
)

const (
	// MaxFiles is ECS's limit for the files of a container.
	MaxFiles = 10
	// TypeS3 is the one type that ECS has.
	TypeS3 = "s3"
	// extension ends the name of each file.
	extension = ".env"
)

// File is ECS's EnvironmentFile.
type File struct {
	Value string `json:"value"` // arn:aws:s3:::BUCKET/KEY.env
	Type  string `json:"type"`  // TypeS3
}

var (
	validBucket = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	partition   = lazyregexp.New(`^aws(-[a-z]+)*$`)
)

// ValidBucket reports whether a bucket can have the name, which is so as S3 has it.
func ValidBucket(name string) bool {
	return validBucket.MatchString(name) && !strings.Contains(name, "..")
}

// Parse is the bucket and the key of a file. A key is a path without dots, so that the directory of a bucket has one file for it.
func (f File) Parse() (bucket, key string, err error) {
	wrong := func(why string) (string, string, error) {
		return "", "", fmt.Errorf("%.300q is not arn:aws:s3:::BUCKET/KEY%s: %s", f.Value, extension, why)
	}
	parts := strings.SplitN(f.Value, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || !partition.MatchString(parts[1]) || parts[2] != "s3" || parts[3]+parts[4] != "" {
		return wrong("it is no ARN of a file in S3")
	}
	bucket, key, _ = strings.Cut(parts[5], "/")
	switch {
	case f.Type != TypeS3:
		return "", "", fmt.Errorf("the type of an environment file is s3, not %.100q", f.Type)
	case !ValidBucket(bucket):
		return wrong("that is no name of a bucket")
	case !strings.HasSuffix(key, extension) || len(key) > 1024:
		return wrong("the name of the file has to end with " + extension)
	case path.Clean("/"+key) != "/"+key || strings.Contains(key, "\x00"):
		return wrong("the key has empty parts, or dots for some")
	}
	return bucket, key, nil
}

// ContainerFiles is the environment files of a container.
type ContainerFiles struct {
	Container string
	Files     []File
}

// RefusedBy returns the reason why a host that gives these buckets cannot give the container the files, with what would have to change; empty when it can.
func (u ContainerFiles) RefusedBy(host string, buckets []string) string {
	for _, f := range u.Files {
		bucket, _, err := f.Parse()
		if err != nil {
			return fmt.Sprintf("container %s: environmentFiles: %v", u.Container, err)
		}
		if !slices.Contains(buckets, bucket) {
			return fmt.Sprintf("container %s has an environment file of the bucket %s, which host %s does not have: start the host with pinion up --bucket %s=DIR, or remove it", u.Container, bucket, host, bucket)
		}
	}
	return ""
}
