//! TLS as libpq has it, by the same library.

use super::Params;
use openssl::ssl::{
    SslConnector, SslConnectorBuilder, SslFiletype, SslMethod, SslVerifyMode, SslVersion,
};
use openssl::x509::store::X509StoreBuilder;
use postgres_openssl::MakeTlsConnector;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tokio_postgres::config::SslMode;

/// How far the server's certificate is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// How to connect by TCP: whether TLS must be, and with what.
#[derive(Clone)]
pub struct Tls {
    pub mode: SslMode,
    pub connector: MakeTlsConnector,
}

pub fn of(params: &Params, home: Option<&Path>) -> Result<Tls, String> {
    let mode = mode(params)?;
    let connector = connector(params, home, mode)?;
    let mode = match mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    };
    Ok(Tls { mode, connector })
}

fn mode(params: &Params) -> Result<Mode, String> {
    Ok(match params.get("sslmode").map_or("prefer", String::as_str) {
        "disable" => Mode::Disable,
        "prefer" => Mode::Prefer,
        "require" => Mode::Require,
        "verify-ca" => Mode::VerifyCa,
        "verify-full" => Mode::VerifyFull,
        "allow" => return Err("sslmode \"allow\" is not supported: say prefer or require".into()),
        other => return Err(format!("invalid sslmode value: \"{other}\"")),
    })
}

fn connector(params: &Params, home: Option<&Path>, mode: Mode) -> Result<MakeTlsConnector, String> {
    let said = |e: openssl::error::ErrorStack| e.to_string();
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(said)?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2)).map_err(said)?;
    if mode != Mode::Disable {
        trust(&mut builder, params, home, mode)?;
        present(&mut builder, params, home)?;
    }
    let mut connector = MakeTlsConnector::new(builder.build());
    connector.set_callback(move |ssl, _| {
        ssl.set_verify_hostname(mode == Mode::VerifyFull);
        Ok(())
    });
    Ok(connector)
}

/// Whose certificates are good: those signed by what is in `sslrootcert`, and by nobody else. As with
/// libpq, such a file makes every mode look at the certificate, and without one only verify-… does.
fn trust(
    builder: &mut SslConnectorBuilder,
    params: &Params,
    home: Option<&Path>,
    mode: Mode,
) -> Result<(), String> {
    let verifies = matches!(mode, Mode::VerifyCa | Mode::VerifyFull);
    if params.get("sslrootcert").is_some_and(|file| file == "system") {
        if mode != Mode::VerifyFull {
            return Err("sslrootcert=system takes sslmode=verify-full".into());
        }
        builder.set_verify(SslVerifyMode::PEER);
        return Ok(());
    }
    let Some(file) = file(params, "sslrootcert", home, "root.crt") else {
        builder.set_verify(SslVerifyMode::NONE);
        let missing = "this sslmode takes a root certificate: set sslrootcert, or PGSSLROOTCERT";
        return if verifies { Err(missing.into()) } else { Ok(()) };
    };
    let unreadable = |e| format!("cannot use root certificate file \"{}\": {e}", file.display());
    let none = X509StoreBuilder::new().map_err(|e| e.to_string())?.build();
    builder.set_cert_store(none);
    builder.set_ca_file(&file).map_err(unreadable)?;
    builder.set_verify(SslVerifyMode::PEER);
    Ok(())
}

/// The client's own certificate and key, where there are any.
fn present(
    builder: &mut SslConnectorBuilder,
    params: &Params,
    home: Option<&Path>,
) -> Result<(), String> {
    let Some(certificate) = file(params, "sslcert", home, "postgresql.crt") else { return Ok(()) };
    let key = file(params, "sslkey", home, "postgresql.key");
    let key = key.ok_or("certificate present, but not its private key: set sslkey, or PGSSLKEY")?;
    if std::fs::metadata(&key).is_ok_and(|about| about.mode() & 0o077 != 0 && about.uid() != 0) {
        return Err(format!("private key file \"{}\" has group or world access", key.display()));
    }
    let unusable = |what: &str, file: &Path| format!("cannot use {what} \"{}\"", file.display());
    builder
        .set_certificate_chain_file(&certificate)
        .map_err(|e| format!("{}: {e}", unusable("certificate file", &certificate)))?;
    builder
        .set_private_key_file(&key, SslFiletype::PEM)
        .map_err(|e| format!("{}: {e}", unusable("private key file", &key)))
}

/// What a parameter names, or the file in ~/.postgresql if there is one.
fn file(params: &Params, key: &str, home: Option<&Path>, usual: &str) -> Option<PathBuf> {
    let named = params.get(key).filter(|name| !name.is_empty()).map(PathBuf::from);
    let usual = home.map(|home| home.join(".postgresql").join(usual)).filter(|file| file.exists());
    named.or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pairs: &[(&str, &str)]) -> String {
        let params = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        of(&params, None).err().unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_verified_is_refused() {
        assert!(refused(&[("sslmode", "verify-full")]).contains("takes a root certificate"));
        let missing = refused(&[("sslmode", "verify-ca"), ("sslrootcert", "/nowhere.crt")]);
        assert!(missing.contains("/nowhere.crt"), "{missing}");
        assert!(refused(&[("sslmode", "require"), ("sslrootcert", "system")]).contains("system"));
        assert!(refused(&[("sslmode", "allow")]).contains("not supported"));
        assert!(refused(&[("sslmode", "Require")]).contains("invalid sslmode"));
        assert!(refused(&[("sslcert", "/nowhere.crt")]).contains("private key"));
    }

    #[test]
    fn tls_is_preferred_unless_said_otherwise() -> Result<(), String> {
        assert_eq!(of(&Params::new(), None)?.mode, SslMode::Prefer);
        Ok(())
    }
}
