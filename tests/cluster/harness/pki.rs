//! The certificates of one control plane: one CA, a serving certificate for loopback, client certificates.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;

/// A certificate authority of our own and the files that it made.
pub struct Pki {
    folder: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key as PEM text.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key, PKCS#8.
    pub key: String,
}

impl Pki {
    /// Makes a CA and writes `ca.crt`, `serving.crt`, `serving.key`, `accounts.key` and `accounts.pub`.
    pub fn create(folder: &Path) -> Pki {
        fs::create_dir_all(folder).expect("folder of the certificates");
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        parameters.distinguished_name.push(DnType::CommonName, "sluice test CA");
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(parameters, key).expect("a CA");
        let pki = Pki { folder: folder.to_path_buf(), authority };
        pki.write("ca.crt", &pki.ca());
        let serving = pki.serving(&["localhost", "127.0.0.1"]);
        pki.write("serving.crt", &serving.certificate);
        pki.write("serving.key", &serving.key);
        // kube-apiserver signs ServiceAccount tokens with ECDSA as well as with RSA.
        let accounts = KeyPair::generate().expect("a key");
        pki.write("accounts.key", &accounts.serialize_pem());
        pki.write("accounts.pub", &accounts.public_key_pem());
        pki
    }

    /// The CA certificate as PEM.
    pub fn ca(&self) -> String {
        self.authority.pem()
    }

    /// The CA certificate as a webhook's `caBundle` and a kubeconfig want it.
    pub fn ca_bundle(&self) -> String {
        BASE64.encode(self.ca())
    }

    /// The path of one of the written files.
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A serving certificate for these names and addresses.
    pub fn serving(&self, names: &[&str]) -> Pair {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let parameters = CertificateParams::new(names).expect("names of a certificate");
        self.sign(parameters, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client certificate: the user's name, and the groups that the API server shall see.
    pub fn client(&self, user: &str, groups: &[&str]) -> Pair {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            parameters.distinguished_name.push(DnType::OrganizationName, *group);
        }
        self.sign(parameters, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// A kubeconfig for a user with a client certificate. Written beside the certificates.
    pub fn kubeconfig_of_user(&self, server: &str, user: &str, groups: &[&str]) -> PathBuf {
        let pair = self.client(user, groups);
        let credentials = json!({
            "client-certificate-data": BASE64.encode(pair.certificate),
            "client-key-data": BASE64.encode(pair.key),
        });
        self.kubeconfig(server, user, credentials)
    }

    /// A kubeconfig for the holder of a bearer token, such as a ServiceAccount's.
    pub fn kubeconfig_of_token(&self, server: &str, name: &str, token: &str) -> PathBuf {
        self.kubeconfig(server, name, json!({ "token": token }))
    }

    fn kubeconfig(&self, server: &str, name: &str, credentials: serde_json::Value) -> PathBuf {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": name } }],
            "clusters": [{ "name": "test", "cluster": {
                "server": server, "certificate-authority-data": self.ca_bundle(),
            } }],
            "users": [{ "name": name, "user": credentials }],
        });
        self.write(&format!("{}.kubeconfig", name.replace([':', '/'], "-")), &config.to_string())
    }

    fn sign(&self, mut parameters: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Pair {
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.authority).expect("a certificate");
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}
