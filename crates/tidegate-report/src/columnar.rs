//! Encodes columns of equal length as one Parquet file, without Arrow.
//!
//! Unsigned counters are stored as INT64 with the logical type UINT_64, text as UTF-8; both are read back as such by
//! pyarrow, DuckDB and Polars. The bytes depend on the columns alone: no clock and no machine name goes into them.

use std::collections::HashMap;
use std::io::Write;
use std::mem;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// One column: a name and its values. `Optional` columns hold nulls.
pub struct Column<'a> {
    /// The name, with the unit at its end.
    pub name: &'a str,
    /// The values, one per row.
    pub values: Values<'a>,
}

/// The values of a column.
pub enum Values<'a> {
    /// Names.
    Text(Vec<&'a str>),
    /// Names, or nulls.
    OptionalText(Vec<Option<&'a str>>),
    /// Counters.
    Count(Vec<u64>),
    /// Counters, or nulls.
    OptionalCount(Vec<Option<u64>>),
    /// Measured figures.
    Number(Vec<f64>),
    /// Measured figures, or nulls.
    OptionalNumber(Vec<Option<f64>>),
    /// Yes or no, or nulls.
    OptionalFlag(Vec<Option<bool>>),
}

/// Writes `columns` as a Parquet file with a single row group.
pub(crate) fn write<W: Write + Send>(columns: &[Column], sink: W) -> Result<W, ParquetError> {
    let mut table = Table::new(columns, sink, properties().build())?;
    let mut rows: Vec<Encoded> = columns.iter().map(|column| Encoded::like(&column.values)).collect();
    rows.iter_mut().zip(columns).for_each(|(encoded, column)| encoded.append(&column.values));
    table.write(&rows)?;
    table.finish()
}

/// How files are written, unless a table needs more.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    let author = concat!("tidegate ", env!("CARGO_PKG_VERSION")).to_owned();
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(author)
}

/// A Parquet file that grows by row groups.
pub(crate) struct Table<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Table<W> {
    /// Begins a file whose row groups have columns like these, whose values are not looked at.
    pub(crate) fn new(columns: &[Column], sink: W, properties: WriterProperties) -> Result<Table<W>, ParquetError> {
        let fields = columns.iter().map(|column| column.values.field(column.name).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("tidegate").with_fields(fields).build()?;
        Ok(Table(SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))?))
    }

    /// Writes a row group.
    pub(crate) fn write(&mut self, columns: &[Encoded]) -> Result<(), ParquetError> {
        let mut rows = self.0.next_row_group()?;
        for column in columns {
            column.write(&mut rows)?;
        }
        rows.close()?;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<W, ParquetError> {
        self.0.into_inner()
    }
}

impl Values<'_> {
    /// True if there may be nulls.
    pub fn is_optional(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::Count(_) | Self::Number(_))
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Self::Text(_) | Self::OptionalText(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Count(_) | Self::OptionalCount(_) => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Self::Number(_) | Self::OptionalNumber(_) => (PhysicalType::DOUBLE, None),
            Self::OptionalFlag(_) => (PhysicalType::BOOLEAN, None),
        };
        let repetition = if self.is_optional() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
    }
}

/// Rows of one column as the file has them. They borrow nothing, so another thread can write them.
pub(crate) struct Encoded {
    values: Physical,
    /// One per row: 1 for a value, 0 for a null. `None` if the column has no nulls.
    levels: Option<Vec<i16>>,
    /// Names of one place in memory share one allocation: rows repeat those of flows, links and classes.
    known: HashMap<(usize, usize), ByteArray>,
}

/// The values that are no nulls.
enum Physical {
    Texts(Vec<ByteArray>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
}

impl Encoded {
    /// A column of the kind of these values, without rows.
    pub(crate) fn like(values: &Values<'_>) -> Encoded {
        let physical = match values {
            Values::Text(_) | Values::OptionalText(_) => Physical::Texts(Vec::new()),
            Values::Count(_) | Values::OptionalCount(_) => Physical::Integers(Vec::new()),
            Values::Number(_) | Values::OptionalNumber(_) => Physical::Numbers(Vec::new()),
            Values::OptionalFlag(_) => Physical::Flags(Vec::new()),
        };
        Encoded { values: physical, levels: values.is_optional().then(Vec::new), known: HashMap::new() }
    }

    /// Takes the rows out, and leaves an empty column that remembers its names.
    pub(crate) fn take(&mut self) -> Encoded {
        let values = match &mut self.values {
            Physical::Texts(values) => Physical::Texts(mem::take(values)),
            Physical::Integers(values) => Physical::Integers(mem::take(values)),
            Physical::Numbers(values) => Physical::Numbers(mem::take(values)),
            Physical::Flags(values) => Physical::Flags(mem::take(values)),
        };
        Encoded { values, levels: self.levels.as_mut().map(mem::take), known: HashMap::new() }
    }

    /// Adds rows of the column's kind.
    pub(crate) fn append(&mut self, values: &Values<'_>) {
        let levels = &mut self.levels;
        match (&mut self.values, values) {
            (Physical::Texts(own), Values::Text(values)) => own.extend(shared(values.iter().copied(), &mut self.known)),
            (Physical::Texts(own), Values::OptionalText(values)) => {
                own.extend(shared(values.iter().flatten().copied(), &mut self.known));
                note(levels, values);
            }
            // The same 64 bits: the logical type says that they are unsigned.
            (Physical::Integers(own), Values::Count(values)) => own.extend(values.iter().map(|value| value.cast_signed())),
            (Physical::Integers(own), Values::OptionalCount(values)) => {
                own.extend(values.iter().flatten().map(|value| value.cast_signed()));
                note(levels, values);
            }
            (Physical::Numbers(own), Values::Number(values)) => own.extend(values),
            (Physical::Numbers(own), Values::OptionalNumber(values)) => {
                own.extend(values.iter().flatten());
                note(levels, values);
            }
            (Physical::Flags(own), Values::OptionalFlag(values)) => {
                own.extend(values.iter().flatten());
                note(levels, values);
            }
            _ => unreachable!("a column keeps its kind"),
        }
    }

    fn write<W: Write + Send>(&self, rows: &mut SerializedRowGroupWriter<'_, W>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &self.values {
            Physical::Texts(values) => put::<ByteArrayType, W>(rows, values, levels),
            Physical::Integers(values) => put::<Int64Type, W>(rows, values, levels),
            Physical::Numbers(values) => put::<DoubleType, W>(rows, values, levels),
            Physical::Flags(values) => put::<BoolType, W>(rows, values, levels),
        }
    }
}

fn put<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    definition_levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = rows.next_column()?.ok_or_else(|| ParquetError::General("more columns than fields in the schema".to_owned()))?;
    column.typed::<T>().write_batch(values, definition_levels, None)?;
    column.close()
}

/// The names as the file has them, from those of this address and length that are known already.
fn shared<'a>(values: impl Iterator<Item = &'a str>, known: &mut HashMap<(usize, usize), ByteArray>) -> impl Iterator<Item = ByteArray> {
    values.map(|value| known.entry((value.as_ptr() as usize, value.len())).or_insert_with(|| ByteArray::from(value)).clone())
}

fn note<T>(levels: &mut Option<Vec<i16>>, values: &[Option<T>]) {
    if let Some(levels) = levels {
        levels.extend(values.iter().map(|value| i16::from(value.is_some())));
    }
}

#[cfg(test)]
mod tests {
    use parquet::data_type::AsBytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    fn written(columns: &[Column]) -> Vec<u8> {
        write(columns, Vec::new()).unwrap()
    }

    #[test]
    fn every_kind_of_column_is_read_back() {
        let columns = [
            Column { name: "text", values: Values::Text(vec!["a", "a", "ü"]) },
            Column { name: "maybe_text", values: Values::OptionalText(vec![None, Some("b"), None]) },
            Column { name: "count", values: Values::Count(vec![0, 1, u64::MAX]) },
            Column { name: "maybe_count", values: Values::OptionalCount(vec![Some(7), None, Some(u64::MAX)]) },
            Column { name: "number", values: Values::Number(vec![0.5, -0.25, 1e300]) },
            Column { name: "maybe_number", values: Values::OptionalNumber(vec![None, None, Some(0.125)]) },
            Column { name: "flag", values: Values::OptionalFlag(vec![Some(true), None, Some(false)]) },
        ];
        let reader = SerializedFileReader::new(bytes::Bytes::from(written(&columns))).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 3);
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
            .collect();
        let text = |text: &str| Field::Str(text.to_owned());
        assert_eq!(
            rows,
            [
                vec![text("a"), Field::Null, Field::ULong(0), Field::ULong(7), Field::Double(0.5), Field::Null, Field::Bool(true)],
                vec![text("a"), text("b"), Field::ULong(1), Field::Null, Field::Double(-0.25), Field::Null, Field::Null],
                vec![
                    text("ü"),
                    Field::Null,
                    Field::ULong(u64::MAX),
                    Field::ULong(u64::MAX),
                    Field::Double(1e300),
                    Field::Double(0.125),
                    Field::Bool(false)
                ],
            ]
        );
    }

    #[test]
    fn a_table_without_rows_is_still_a_file() {
        let columns = [Column { name: "text", values: Values::Text(vec![]) }];
        let reader = SerializedFileReader::new(bytes::Bytes::from(written(&columns))).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema().get_fields()[0].name(), "text");
    }

    #[test]
    fn one_name_has_its_bytes_once() {
        let name = "series";
        let shared: Vec<ByteArray> = shared([name, "other", name].into_iter(), &mut HashMap::new()).collect();
        assert_eq!(shared[0].as_bytes().as_ptr(), shared[2].as_bytes().as_ptr());
    }
}
