//! A table as Arrow, which other packages read through the Arrow PyCapsule interface without a copy.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;
use tidegate_report::{Column, Values};

/// A table of a report.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Table(RecordBatch);

impl Table {
    /// The columns as Arrow arrays.
    pub fn new(columns: &[Column<'_>]) -> PyResult<Table> {
        let arrays = columns.iter().map(|column| (column.name, array(&column.values), column.values.is_optional()));
        RecordBatch::try_from_iter_with_nullable(arrays).map(Table).map_err(defect)
    }
}

#[pymethods]
impl Table {
    /// The number of rows and of columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.num_rows(), self.0.num_columns())
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The values of a column as Python objects, None for nulls.
    fn values<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = self.0.column_by_name(column) else {
            return Err(PyKeyError::new_err(format!("there is no column \"{column}\"; there are {}", self.columns().join(", "))));
        };
        let array = array.as_ref();
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().collect::<Vec<_>>().into_pyobject(py),
            DataType::UInt64 => array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>().into_pyobject(py),
            DataType::Float64 => array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>().into_pyobject(py),
            _ => array.as_boolean().iter().collect::<Vec<_>>().into_pyobject(py),
        }
    }

    /// The table as a capsule of an ArrowArrayStream. A schema that is asked for is not looked at, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok::<_, ArrowError>(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

fn array(values: &Values<'_>) -> ArrayRef {
    match values {
        Values::Text(values) => Arc::new(StringArray::from_iter_values(values)),
        Values::OptionalText(values) => Arc::new(StringArray::from_iter(values)),
        Values::Count(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::OptionalCount(values) => Arc::new(UInt64Array::from_iter(values.iter().copied())),
        Values::Number(values) => Arc::new(Float64Array::from_iter_values(values.iter().copied())),
        Values::OptionalNumber(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Values::OptionalFlag(values) => Arc::new(BooleanArray::from_iter(values.iter().copied())),
    }
}

fn defect(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(format!("defect in tidegate, please report it: {error}"))
}
