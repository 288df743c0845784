package spec

// CA is the certificate authority of the pool. It is part of the state so that every server can sign; a reader of a server's data
// directory can therefore make certificates, and its files have mode 0600.
type CA struct {
	Certificate []byte `json:"certificate"` // PEM, one certificate
	Key         []byte `json:"key"`         // PEM, PKCS #8; never logged
}
