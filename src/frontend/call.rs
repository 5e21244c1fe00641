//! EXECUTE of SQL: a prepared statement with values that SQL computes.

use super::cells::cells;
use super::reply::Writer;
use super::run::{no_parameters, rows_of, start};
use super::service::Session;
use super::state::State;
use super::stop::Stop;
use answer::{ClientError, Description, Field, SqlState, Values};
use bytes::Bytes;
use tokio::io::AsyncWrite;

/// The prepared statement of this name, bound to the values of `arguments`, and its columns in the formats of `results`: one
/// for all, one for each, or none for text.
pub(super) async fn call<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    name: &str,
    arguments: &S::Statement,
    results: impl FnOnce(usize) -> Result<Vec<i16>, ClientError>,
) -> Result<(S::Portal, Option<Vec<Field>>), Stop> {
    let prepared = state.statements.get(name)?;
    let (Some(statement), None) = (&prepared.statement, &prepared.control) else {
        let message = "EXECUTE runs queries, SET and SHOW only";
        return Err(ClientError::unsupported(message)
            .hint("Bind and execute it by the extended protocol.")
            .into());
    };
    let values = values(state, writer, arguments).await?;
    let wanted = prepared.description.parameters.len();
    if values.len() != wanted {
        let message = format!("wrong number of parameters for prepared statement \"{name}\"");
        let detail = format!("Expected {wanted} parameters but got {}.", values.len());
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, message).detail(detail).into());
    }
    let _running = state.memory.hold(prepared.weight.running).map_err(ClientError::from)?;
    let fields = prepared.description.fields.as_ref();
    let results = results(fields.map_or(0, Vec::len))?;
    let promised = fields.map(|fields| {
        let each = fields.iter().zip(&results);
        each.map(|(field, format)| Field { format: *format, ..field.clone() }).collect()
    });
    let values = Values { formats: vec![0; values.len()], parameters: values, results };
    Ok((state.session.bind(statement, &prepared.description, values).await?, promised))
}

/// The arguments as text.
async fn values<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    arguments: &S::Statement,
) -> Result<Vec<Option<Bytes>>, Stop> {
    let description: Description = state.session.describe(arguments, &[]).await?;
    no_parameters(&description)?;
    let Some(fields) = &description.fields else { return Ok(Vec::new()) };
    let asked = Values { results: vec![0; fields.len()], ..Values::default() };
    let bound = state.session.bind(arguments, &description, asked).await?;
    let (mut rows, _) = rows_of(start(&mut state.session, writer, bound, Some(fields)).await?)?;
    let mut values = Vec::new();
    while let Some(row) = rows.next().await {
        values = cells(&row?)?.into_iter().map(|c| c.map(Bytes::copy_from_slice)).collect();
    }
    Ok(values)
}
